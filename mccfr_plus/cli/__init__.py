"""The `mccfr-plus` command: one module per subcommand, and what they share.

`main` finds the command, `command` reads its flags, `output` writes tables and JSON.
"""
