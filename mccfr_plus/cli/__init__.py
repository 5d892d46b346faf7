"""The `mccfr-plus` command: `main` calls one module per subcommand, and `common` has what these share."""
