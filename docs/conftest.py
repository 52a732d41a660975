"""Pages that a build of the site writes are not tests, and its configuration needs Sphinx."""

collect_ignore = [
    "check_links.py",
    "conf.py",
    "_build",
    "_ext",
    "api",
    "benchmarks",
    "gallery",
    "lectures",
]
