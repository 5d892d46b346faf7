"""Calls the command with thousands of wrong inputs, and looks for tracebacks, wrong exit codes and half-written files.

    python tests/fuzz/fuzz.py --cases=2000            # five minutes on two cores
    python tests/fuzz/fuzz.py --cases=50000 --seed=7  # other cases
    python tests/fuzz/fuzz.py --only=1234             # one of them again

The cases are game strings, flags, damaged files, and signals at any moment. A case follows from seed and number, so
that the first 500 are the same, whatever ``--cases`` says. A case that takes more than `MOST_SECONDS` of CPU time, or a
process that takes more than `MOST_MEGABYTES`, is a failure like a traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

from cases import case_of

MOST_SECONDS = 10.0
MOST_MEGABYTES = 2000.0  # torch and OpenSpiel are 700 of them
_PATIENCE = 120.0  # of the clock: a case hangs


class Worker:
    """A process that runs cases; another one is started where it dies or hangs."""

    def __init__(self, seed: int):
        self.seed = seed
        self._start()

    def _start(self) -> None:
        arguments = [sys.executable, str(Path(__file__).with_name("worker.py")), str(self.seed)]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, args=(self._process, self._answers), daemon=True).start()
        if self._answers.get(timeout=10 * _PATIENCE) == "":
            raise RuntimeError("the process that runs cases does not start")

    @staticmethod
    def _read(process: subprocess.Popen, answers: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def problem_of(self, number: int) -> str | None:
        """Runs a case and returns what was wrong, or None."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        try:
            answer = self._answers.get(timeout=_PATIENCE)
        except queue.Empty:
            self._process.kill()
            self._start()
            return f"no end in {_PATIENCE:g} seconds"
        if not answer:
            code = self._process.wait()
            self._start()
            return f"the process ended with code {code}"
        _, problem, seconds, megabytes = json.loads(answer)
        if problem is None and seconds > MOST_SECONDS:
            problem = f"{seconds:.1f} seconds of CPU time"
        if megabytes > MOST_MEGABYTES:
            problem = problem or f"the process has taken {megabytes:.0f} MB"
            self.close()
            self._start()
        return problem

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> int:
    """Runs cases and prints those that fail; returns 1 if one did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="how many; default: 2000")
    parser.add_argument("--seed", type=int, default=1, help="of the cases; default: 1")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: one per core")
    parser.add_argument("--only", type=int, help="the number of one case to repeat")
    given = parser.parse_args()
    numbers: queue.Queue[int] = queue.Queue()
    for number in range(given.cases) if given.only is None else [given.only]:
        numbers.put(number)
    failed: list[int] = []
    begin = time.monotonic()

    def work() -> None:
        worker = Worker(given.seed)
        while True:
            try:
                number = numbers.get_nowait()
            except queue.Empty:
                return worker.close()
            problem = worker.problem_of(number)
            if problem is not None:
                failed.append(number)
                print(f"--- case {number}: {case_of(given.seed, number)}\n{problem.strip()}", flush=True)

    count = min(given.processes, numbers.qsize())
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = given.cases if given.only is None else 1
    print(f"{total} cases of seed {given.seed} in {time.monotonic() - begin:.0f} s, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
