"""Only the pages here are tested; the scripts need packages that the tests do not."""

collect_ignore_glob = ["*.py"]
