"""The `mccfr-plus` command: `command` runs one module per verb, and has what these share."""
