"""What the bench gives to other programs' tests; it needs `tinygram[bench]`."""
