"""Arrays without reference counts, for the inside of a kernel's loop.

Numba counts references to an array with atomic operations whenever one is taken out of a bundle or handed to another
kernel; at a microsecond per iteration that was 90 % of the time. These arrays have no count. They must
not outlive the call in which they were made: a kernel must not return one.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


def no_refcount(bundle):
    """Returns an array, or a NamedTuple, whose arrays have no reference counts. Python runs it as the identity."""
    return bundle


@overload(no_refcount)
def _no_refcount_in_kernel(bundle):
    return lambda bundle: _without_owner(bundle)  # type: ignore[call-arg]


@intrinsic
def _without_owner(typing_context, bundle):
    def without_owner(context, builder, array_type, value):
        view = context.make_array(array_type)(context, builder, value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    def build(context, builder, signature, arguments):
        if isinstance(bundle, types.Array):
            return without_owner(context, builder, bundle, arguments[0])
        members = []
        for index, member in enumerate(bundle.types):
            value = builder.extract_value(arguments[0], index)
            members.append(without_owner(context, builder, member, value) if isinstance(member, types.Array) else value)
        return context.make_tuple(builder, bundle, members)

    return bundle(bundle), build
