"""The documentation site: pages, gallery and examples as static files."""
