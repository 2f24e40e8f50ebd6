"""The documentation site: the pages of docs/ and the reference that code writes, put together."""
