"""What the page says about how it was measured and judged."""

from __future__ import annotations

from claim.grid import FLAT_OUT_NS, OURS, fixed_strategies
from claim.judging.compare import LOOK_ERRORS, LOOKS
from claim.judging.doubts import LEAST_BEHIND_NS, MOST_BEHIND
from claim.judging.margins import LARGE_LOSS
from claim.page.wording import percent
from claim.plan import FLOOR_ROUNDS, HOPELESS
from claim.result import ClaimResult, runtimes_of
from tinygram_bench.statistics.verdicts.doubts import MAX_PACING_ERROR_SHARE


def method(result: ClaimResult) -> str:
    """The section."""
    errors = ", ".join(f"{100 * error:.2g} %" for error in LOOK_ERRORS)
    looks = ", ".join(map(str, LOOKS))
    durations = sorted({cell.duration_ns // 1_000_000 for cell in result.cells if cell.rate_per_s})
    fewest = min((cell.scheduled_messages() for cell in result.cells if cell.rate_per_s), default=0)
    lasting = f"{durations[0]} to {durations[-1]} ms" if durations else "no time"
    rivals = dict.fromkeys(
        name for runtime in runtimes_of(result) for name in fixed_strategies(runtime)
    )
    return f"""## Method

- **Rivals**: the library's own {", ".join(f"`{name}`" for name in rivals)}; one implementation. On
  `threads` the rule of `{OURS}` includes who writes (decision 0010): the fixed ones leave what is
  held to the writing thread, as they do for users.
- **Cells**: {len(result.cells)}, all listed above. Paced runs last {lasting}. Flat out all
  strategies of a cell send the same number of messages, for which the slowest takes about
  {FLAT_OUT_NS // 1_000_000} ms.
- **Latency** is from due to received, without what the pacer was late with that message (from when
  it was due, or asked for if that was later). The pacer sleeps, for all strategies alike, and spins
  nowhere: what it is late is taken off each message, so that p50 and p99 have none of it. What a
  strategy's own work delays the pacer's wake-up is taken off, too; the column with the lateness
  left in shows what hangs on that, and gives no verdict where it is over
  {percent(MAX_PACING_ERROR_SHARE)} of the latency.
- **p99** is the middle of the p99 of single runs. A run has {fewest:,} messages or more, so
  {fewest // 100} latencies at least lie above it, of few bursts where they are large. A rare stall
  does not move it: the pooled p99 and the longest latency stand beside.
- **CPU** is the sending process's, user and system: the pacer's wake-ups, the event loop and the
  program's calls are in it, which every strategy pays, and draw ratios towards 1. *Above the floor*
  takes off what the same load takes when all messages leave with the last one, in the first
  {FLOOR_ROUNDS} rounds. A sender that does less sleeps and wakes more often, so at high rates that
  may be as much as the whole, or more: there is no such ratio then.
- **Cores** are kept awake where that is permitted (*Where* says so): a CPU latency limit of 0 µs,
  by /dev/cpu_dma_latency. One that sleeps takes as long to wake up as its host pleases, and to
  wake one costs the sender CPU time, under every strategy (decision 0012).
- **Rounds**: in each, the cells in random order and their strategies in random order within, over
  the same arrivals; the next round has others. Processes live for one round. Every byte is
  compared, and writes are counted.
- **Fair test**: the odd rounds pick what is the best fixed strategy, the even ones compare. The
  ratio is formed round by round; its middle and its interval are those of Wilcoxon's signed ranks
  (Hodges and Lehmann), exact for so few rounds, where a bootstrap is not. They assume that the
  logarithms of the ratios are spread symmetrically around their middle.
- **One strategy per cell**: that with the least mean delay + CPU time of a message, a microsecond
  of one as much as of the other, by the odd rounds' median, and all strategies that these rounds do
  not show to be worse. `{OURS}` must be held against each of them, and is lost if it is to the one
  that is the hardest in that figure. What cannot keep up with the rate is not picked.
- **Verdicts**: a figure is *held* when the whole interval is within the margin or better, *lost*
  when it is wholly beyond, else *undecided*. A cell is lost if a figure is, held if all are. *By
  more than {percent(LARGE_LOSS)}*: the estimate, of what is shown to be worse at all.
- **No verdict** where a latency is that of a strategy that cannot keep up (if only `{OURS}` cannot,
  it may lose), and *lost* alone where the ratios of the rounds have two modes. Where a run of
  `{OURS}` failed, nothing is held.
- **More rounds where undecided**: looks after {looks} rounds of a cell, no others. The intervals'
  errors at the looks are {errors}: together {percent(sum(LOOK_ERRORS))}, half of it on either
  side (Bonferroni), so looking again adds none. A verdict uses all rounds up to the last look.
  Rivals that cost {HOPELESS:g} times the best in the odd rounds are not run again. Where time does
  not suffice for all, cells are drawn by lot.
- **Cannot keep up**: the last message arrives later than {percent(MOST_BEHIND)} of the run's
  duration and {LEAST_BEHIND_NS / 1e6:g} ms.
"""
