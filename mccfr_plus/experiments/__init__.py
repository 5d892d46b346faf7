"""Comparisons: games x algorithms x seeds, run over the cores of this machine, with records, curves and pictures.

algorithm ──▶ runner ──▶ race (one run) ──▶ record (a file)     comparison (a directory) ──▶ curves ──▶ plot, report
                              ▲ points                                    ▲ workers
"""
