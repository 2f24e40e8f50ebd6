"""Ask the bench from Python: how many writes do 2,000 messages take, one by one and gathered?"""

import polars

from tinygram_bench import Plan, run


def main() -> None:
    plan = Plan.stream(
        runtime=["loop"],
        only=["implementation=tinygram"],
        strategy=["nodelay", "tick"],
        messages=2_000,
        rounds=1,
        quiet=True,
    )
    result = run(plan)
    figures: polars.DataFrame = result.frame("summaries", "polars")
    found = figures.filter(figure="messages_per_write").sort("strategy")
    for strategy, messages in found.select("strategy", "median").iter_rows():
        print(f"{strategy}: {messages:.0f} messages in a write")


if __name__ == "__main__":
    main()
