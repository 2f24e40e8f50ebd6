"""The part of the bench that is for other programs' tests; it needs `tinygram[bench]`."""
