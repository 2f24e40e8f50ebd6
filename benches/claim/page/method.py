"""What the page says about how it was measured and judged."""

from __future__ import annotations

from claim.grid import OURS, fixed_strategies
from claim.judging.compare import (
    ALL_STRATEGIES_ROUNDS,
    LARGE_LOSS,
    LOOK_ERRORS,
    LOOKS,
    MARGIN,
    PICKING_ROUNDS,
)
from claim.judging.counts import FASTEST_PHASE, MOST_BUSY, MOST_UNLIKE
from claim.judging.doubts import MOST_BEHIND_NS
from claim.page.wording import percent
from claim.plan import HOPELESS
from claim.result import ClaimResult, runtimes_of
from tinygram_bench.model.parameters import StreamParameters

_PUSHED_OUT = """at a rate, what Nagle's algorithm still withholds when a slice's last
  message has been sent leaves then, pushed out by the sender, and so does what it withholds of the
  next slice's first ones, which are not measured. Withheld, it would come up to 44 ms later, and
  all would wait for it. So a hold of `nagle` is at most a slice long: where acknowledgements are
  delayed and a run that never stops would be held up for 40 ms, its delay here is a lower bound,
  and favours it; the pushes are in its CPU time (decision 0046)."""
_WAITED_FOR = """what Nagle's algorithm withholds is waited for until an acknowledgement comes,
  which may be delayed by 40 ms."""


def method(result: ClaimResult) -> str:
    """The section."""
    errors = ", ".join(f"{100 * error:.2g} %" for error in LOOK_ERRORS)
    looks = ", ".join(map(str, LOOKS))
    asked = [StreamParameters.of(case) for case in result.cases]
    lengths = sorted({each.slice_ns for each in asked if each.slice_ns})
    lasting = f"{lengths[0] / 1e6:g} to {lengths[-1] / 1e6:g} ms"
    cycles = sorted({(each.duration_ns or 0) // each.slice_ns for each in asked if each.slice_ns})
    so_many = f"{cycles[0]} to {cycles[-1]}"
    ends = _PUSHED_OUT if any(each.study.pushes_out for each in asked) else _WAITED_FOR
    rivals = dict.fromkeys(
        name for runtime in runtimes_of(result) for name in fixed_strategies(runtime)
    )
    return f"""## Method

- **Rivals**: the library's own {", ".join(f"`{name}`" for name in rivals)}; one implementation. On
  `threads` the rule of `{OURS}` includes who writes (decision 0010): the fixed ones leave what is
  held to the writing thread, as they do for users.
- **Cells**: {len(result.cells)}, all listed above. In a round all strategies of a cell that run in
  it are up side by side, each with its own processes and connection, and take turns in
  {so_many} slices each, of {lasting}, every cycle in a new random order and over the same arrivals.
  What is compared lies a few slices apart (decision 0023).
- **The ends of slices**: {ends}
- **Latency** is from due to received, without what the pacer was late with that message (from when
  it was due, or asked for if that was later). The pacer sleeps, for all strategies alike, and spins
  nowhere. What a strategy's own work delays the pacer's wake-up is taken off, too.
- **CPU** is the sending process's, user and system: the pacer's wake-ups, the event loop and the
  program's calls are in it, which every strategy pays, and draw ratios towards 1.
- **Cores** are kept awake where that is permitted (*Where* says so): a CPU latency limit of 0 µs,
  by /dev/cpu_dma_latency. One that sleeps takes as long to wake up as its host pleases, and to
  wake one costs the sender CPU time, under every strategy (decision 0012).
- **Rounds**: in each, the cells in random order. Processes live for one round; the next round has
  other arrivals. Every byte is compared, and writes are counted.
- **What decides a cell** is the mean delay + CPU time of a message, a microsecond of one as much as
  of the other, slice by slice (but for the last one, whose CPU time is not known); flat out the
  time per message; and the CPU time of a message where no fixed strategy keeps up. p50, p99 and CPU
  time alone stand beside, and do not decide.
- **Fair test**: the first {PICKING_ROUNDS} rounds pick the best fixed strategy, the later ones
  compare. All strategies run in the first {ALL_STRATEGIES_ROUNDS} rounds; then those that cost at
  most {HOPELESS:g} times the best; and then the best one and all that the rounds that pick do not
  show to be worse. `{OURS}` is lost where the later rounds show it to be lost to the best, so that
  luck in picking has no part, and held where it is held over all rounds against each of these,
  whichever of them is the best.
- **Ratios**: of slices of the same cycle; their median is the round's. The middle of the rounds and
  its interval are those of Wilcoxon's signed ranks (Hodges and Lehmann), exact for so few rounds,
  where a bootstrap is not. They assume that the logarithms of the ratios are spread symmetrically
  around their middle.
- **Verdicts**: *held* when the whole interval is within {percent(MARGIN)} or better, *lost* when it
  is wholly beyond, else *undecided*. *By more than {percent(LARGE_LOSS)}*: the estimate, of what is
  shown to be worse at all.
- **By counts**, where the clock leaves a paced cell undecided, without a doubt: for each round a
  ratio is predicted, (CPU time more + hold more + waits for more writes) ÷ the rival's cost above
  1, and its interval decides by the same margin, rounds and looks, *held* as well as *lost*, unless
  the clock's own interval is wholly on the other side of 1, or shares nothing with the predicted
  one. CPU time has a clock that stands still while others run, and weighs once, or as the delay
  before a write does, 1 + 1 ÷ (1 − load)² times; holds and writes are counted by the library and
  in front of the C library. What the host does to the delay of both alike is in none of them. It
  assumes that from its write
  to its receipt a message takes as long under both, and that the messages of a batch wait for at
  least half as long as its first one. Where one makes over {MOST_UNLIKE:g} times the other's
  writes, each one's holds are known so well only, and the bounds are as wide; what is behind one
  write more waits for it at both ends. Nothing is said where the sender is busy for over
  {percent(MOST_BUSY)} of the time (on/off: in the fastest phases, {FASTEST_PHASE:g} times as busy
  as on average), and nothing flat out. `nagle` is held by the kernel, which is not counted:
  nothing is lost to it by counts. On threads the wake-up of the thread that writes is in the hold.
- **No verdict** where a latency is that of a strategy that cannot keep up (if only `{OURS}` cannot,
  it may lose), where the link was late or others' messages came into its slices in a quarter of the
  rounds, and *lost* alone where the ratios of the rounds have two modes. Where a run of
  `{OURS}` failed, nothing is held.
- **More rounds where undecided**: looks after {looks} rounds of a cell, no others. The intervals'
  errors at the looks are {errors}: together {percent(sum(LOOK_ERRORS))}, half of it on either
  side (Bonferroni), so looking again adds none. Counts have the same errors once more. A verdict
  uses all rounds up to the last look. Where time does not suffice for all, those come first that
  are nearest to a verdict.
- **Cannot keep up**: the last message of a slice arrives over {MOST_BEHIND_NS / 1e6:g} ms after it,
  and after what it is held for and a round trip, in half of the slices.
"""
