"""Arrays without reference counts, for the inside of a kernel's loop.

Numba counts references to an array with atomic operations whenever one is taken out of a bundle or handed to another
kernel; at a microsecond per iteration that was 90 % of the time. A borrowed array has nothing to count. It must not
outlive the call that it was borrowed in, which a kernel that returns none keeps by itself.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from mccfr_plus._jit import kernel


@intrinsic
def _without_owner(typing_context, array):
    def build(context, builder, signature, arguments):
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), build


def borrow(bundle):
    """Returns an array, or a NamedTuple of arrays, without reference counts. Python runs it as the identity."""
    return bundle


@overload(borrow, inline="always")
def _borrow_in_kernel(bundle):
    if isinstance(bundle, types.Array):
        return lambda bundle: _without_owner(bundle)
    kind = bundle.instance_class
    fields = ", ".join(f"_without_owner(bundle.{name})" for name in kind._fields)
    scope = {"_without_owner": _without_owner, "kind": kind}
    exec(f"def build(bundle):\n    return kind({fields})", scope)
    return scope["build"]
