"""What a comparison leaves behind, for tests that look for the same."""

import json


def without_times(path):
    """Returns the records of a comparison, but for what says where and when a run was."""
    found = {}
    for file in sorted((path / "runs").glob("*.jsonl")):
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        for entry in entries:
            if "run" in entry:
                for name in ("command", "started", "machine"):
                    del entry["run"][name]
            elif "point" in entry:
                del entry["point"]["seconds"], entry["point"]["cpu_seconds"]
            else:
                entry["end"] = sorted(entry["end"])
        found[file.name] = json.dumps(entries)
    return found


def policies(path):
    return {file.name: file.read_bytes() for file in sorted((path / "runs").glob("*.npz"))}


def num_ended(path):
    return sum(b'{"end"' in file.read_bytes() for file in (path / "runs").glob("*.jsonl"))
