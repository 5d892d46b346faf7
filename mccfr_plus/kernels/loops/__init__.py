"""The loops of all solvers: estimate, average, minimize, for each player, iteration after iteration.

| loop | for |
|---|---|
| `single` | complete trees; one thread, or threads that do not wait for one another |
| `thread_team` | threads that make one gradient together |
| `resumable` | lazily expanded trees, and batches that must be interruptible |

All call the same components, by the names in `components`.
"""
