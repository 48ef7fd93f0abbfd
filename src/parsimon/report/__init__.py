"""From findings to a page: sentences, documents and figures."""
