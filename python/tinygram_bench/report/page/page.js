"use strict";
// Draws the charts, in the colours of the reader's scheme, lets legends show and hide series, makes
// downloads, and puts what is packed in its place when it is unfolded.

(async () => {
  const charts = JSON.parse(await unpacked("charts"));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = new Map();
  const hidden = new Map();

  async function unpacked(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  async function loadVega() {
    const script = document.createElement("script");
    script.textContent = await unpacked("vega");
    document.head.append(script);
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const text = of("--text"), dim = of("--dim"), line = of("--line");
    return {
      background: "transparent",
      axis: { labelColor: dim, titleColor: dim, gridColor: line },
      text: { color: text },
    };
  }

  async function draw(id) {
    const plot = document.querySelector(`#${CSS.escape(id)} .plot`);
    views.get(id)?.finalize();
    const theme = dark.matches ? "dark" : "light";
    // `ast`: expressions are interpreted; the page's policy lets nothing make functions of text.
    const options = { ast: true, actions: false, renderer: "svg", config: colours(), tooltip: { theme } };
    const drawn = await window.vegaEmbed(plot, charts[id].spec, options);
    // The picture as a whole has a text and a table; marks in it would have roles without names.
    plot.querySelector("svg").setAttribute("aria-hidden", "true");
    views.set(id, drawn);
    if (hidden.get(id)?.size) await show(id);
  }

  function isFolded(id) {
    return document.getElementById(id).closest("details:not([open])") !== null;
  }

  async function drawAll() {
    for (const id of Object.keys(charts)) {
      // What is folded has no width to draw in, and is drawn when it is unfolded.
      if (isFolded(id)) {
        views.get(id)?.finalize();
        views.delete(id);
        continue;
      }
      await draw(id);
      await new Promise((done) => setTimeout(done)); // The page answers meanwhile.
    }
    document.documentElement.dataset.drawn = String(views.size);
  }

  async function drawNew() {
    for (const id of Object.keys(charts)) if (!views.has(id) && !isFolded(id)) await draw(id);
    document.documentElement.dataset.drawn = String(views.size);
  }

  async function show(id, off = hidden.get(id)) {
    await views.get(id).view.signal("hidden", [...off]).runAsync();
  }

  // Among dozens of lines, which one a name stands for.
  function showAlone(id, buttons) {
    for (const button of buttons) {
      const others = buttons.filter((each) => each !== button).map((each) => each.dataset.series);
      button.addEventListener("pointerenter", async ({ pointerType }) => {
        if (pointerType === "mouse" && views.has(id)) await show(id, others);
      });
      button.addEventListener("pointerleave", async ({ pointerType }) => {
        if (pointerType === "mouse" && views.has(id)) await show(id);
      });
    }
  }

  function csvOf({ spec, columns }) {
    const cell = (value) => {
      const text = String(value ?? "");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = spec.datasets.rows.map((row) => Object.keys(columns).map((name) => row[name]));
    return [Object.values(columns), ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  function download(event) {
    const button = event.target.closest("[data-csv]");
    if (button === null) return;
    const link = document.createElement("a");
    link.download = `${button.dataset.csv}.csv`;
    const text = csvOf(charts[button.closest("figure").id]);
    link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`;
    link.click();
  }

  async function unpackFolded() {
    const contents = JSON.parse(await unpacked("folded"));
    const unfold = (details) => {
      for (const place of details.querySelectorAll(":scope > [data-packed]"))
        place.outerHTML = contents[place.dataset.packed];
    };
    for (const place of document.querySelectorAll("[data-packed]")) {
      const details = place.parentElement;
      details.addEventListener("toggle", () => unfold(details));
      if (details.open) unfold(details);
    }
  }

  function listen(figure) {
    const off = new Set();
    hidden.set(figure.id, off);
    const buttons = [...figure.querySelectorAll("[data-series]")];
    figure.querySelector(".legend").addEventListener("click", async (event) => {
      const button = event.target.closest("button");
      if (button === null) return;
      const name = button.dataset.series;
      const chosen = name === undefined ? buttons : [button];
      for (const each of chosen) {
        const isOff = name === undefined ? button.dataset.all === "hide" : !off.has(name);
        each.setAttribute("aria-pressed", String(!isOff));
        off[isOff ? "add" : "delete"](each.dataset.series);
      }
      if (views.has(figure.id)) await show(figure.id);
    });
    if (buttons.length > 2) showAlone(figure.id, buttons);
  }

  for (const legend of document.querySelectorAll(".legend")) listen(legend.closest("figure"));
  document.addEventListener("click", download);
  if (document.getElementById("folded") !== null) await unpackFolded();
  await loadVega();
  for (const more of document.querySelectorAll("details.charts-folded")) more.addEventListener("toggle", drawNew);
  await drawAll();
  dark.addEventListener("change", drawAll);
})();
