"""How Numba goes through a kernel: without reference counts, and without machine code for inline kernels.

Numba counts references to an array with atomic operations whenever one is taken out of a bundle or handed to another
kernel, for ten times the cost of the work itself. Kernels here make no arrays: the caller's references are enough.
Inline kernels are only ever linked into others, where LLVM optimizes them.
"""

import dataclasses
import functools
import importlib
import sys
from typing import Any

import numba
from llvmlite import binding
from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaRuntimeError, UnsupportedError
from numba.core.ir_utils import build_definitions
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import InlineInlinables, IRProcessing
from numba.np import linalg

_MAKING = {"binop", "inplace_binop", "unary", "arrayexpr", "call"}  # of array expressions, those that make an array
_NOT_MAKING = (numba.carray, "array.view", "array.reshape")  # of calls, those that show memory that is there
_ARRAY_IS_MADE = (
    "{} makes an array, or copies a slice: without reference counts it would never be freed. Pass the array as an "
    "argument, copy entry by entry, or use mccfr_plus.kernels.compile.allocating_kernel."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Constant:
    """A number or truth value that the compiler sees as a literal; a kernel reads it by a call, ``ALTERNATING()``.

    A plain `True` has no identity by which `mccfr_plus.kernels.slots.bind` could replace it.
    """

    name: str
    value: bool | int | float
    description: str = ""

    def __call__(self) -> Any:
        return self.value


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lowers a kernel without reference counts."""

    _name = "lowering_without_reference_counts"

    def run_pass(self, state: Any) -> bool:
        _require_no_new_arrays(state)
        state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        try:
            return super().run_pass(state)
        except NumbaRuntimeError as error:  # a copy of a slice, for one
            raise UnsupportedError(
                _ARRAY_IS_MADE.format(state.func_id.func_qualname), loc=getattr(error, "loc", None)
            ) from error


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineLowering(_Lowering):
    """Lowers a kernel for other kernels only."""

    _name = "lowering_for_other_kernels"

    def run_pass(self, state: Any) -> bool:
        state.library = InlineLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        entry_point = object()  # in place of machine code: kernels that are compiled later know the library by it
        state.targetctx.insert_user_function(entry_point, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=entry_point)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _LiteralConstants(FunctionPass):
    """Replaces each call of a `Constant` by its value, as if it were a global: the compiler drops dead branches."""

    _name = "literal_constants"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        function, values = state.func_ir, {}
        assignments = [each for block in function.blocks.values() for each in block.find_insts(ir.Assign)]
        for each in assignments:
            if isinstance(each.value, ir.Global | ir.FreeVar) and isinstance(each.value.value, Constant):
                values[each.target.name] = each.value = ir.Global(each.value.name, each.value.value.value, each.loc)
        for each in assignments:
            if isinstance(each.value, ir.Expr) and each.value.op == "call" and each.value.func.name in values:
                each.value = values[each.value.func.name]
        function._definitions = build_definitions(function.blocks)
        return bool(values)


class AllocatingCompiler(CompilerBase):
    """Numba's compiler with literal constants."""

    lowering: type = NativeLowering

    def define_pipelines(self) -> list:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(self.lowering if step is NativeLowering else step, text) for step, text in pipeline.passes]
        for after in (IRProcessing, InlineInlinables):  # what is inlined has constants of its own
            pipeline.add_pass_after(_LiteralConstants, after)
        pipeline.finalize()
        return [pipeline]


class KernelCompiler(AllocatingCompiler):
    """The same without reference counts."""

    lowering = _Lowering

    def __init__(self, *arguments: Any):
        _load_array_functions()
        super().__init__(*arguments)


class InlineCompiler(KernelCompiler):
    """The same for kernels that only other kernels call."""

    lowering = _InlineLowering


class InlineLibrary(JITCodeLibrary):
    """The code of an inline kernel, to be linked into other kernels."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Inlines what it calls and removes what is left of that: the rest is done in the kernels that call it."""
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_aggressive_dce_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # several kernels may contain it
        self._shared_module, self._finalized = self._final_module, True

    @classmethod
    def load(cls, codegen: Any, name: str, bitcode: bytes) -> "InlineLibrary":
        library = cls(codegen, name)
        library._final_module = library._shared_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return library


@functools.cache
def _load_array_functions() -> None:
    """Loads Numba's array functions without SciPy's linear algebra, which takes 0.2 CPU seconds.

    Numba looks whether it is there, and loads it later where a user-defined kernel multiplies matrices.
    """
    if "scipy" not in sys.modules:  # Numba has tried
        return
    look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


def _require_no_new_arrays(state: Any) -> None:
    """Raises UnsupportedError if a kernel without reference counts makes an array, which would never be freed."""
    for expression, signature in state.calltypes.items():
        is_array = isinstance(getattr(signature, "return_type", None), types.Array)
        if not is_array or getattr(expression, "op", None) not in _MAKING:
            continue
        called = state.typemap[expression.func.name] if expression.op == "call" else None
        compiler = called.dispatcher._compiler.pipeline_class if isinstance(called, types.Dispatcher) else object
        if getattr(called, "typing_key", None) not in _NOT_MAKING and not issubclass(compiler, KernelCompiler):
            raise UnsupportedError(_ARRAY_IS_MADE.format(state.func_id.func_qualname), loc=expression.loc)
