"""Loads and stores at addresses, for compiled loops that choose among many arrays: to choose in a tuple of arrays costs more than the load."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BYTE, WORD, NUMBER, TRUTH = ir.IntType(8), ir.IntType(64), ir.IntType(32), ir.IntType(1)
EIGHT = ir.VectorType(WORD, 8)
FOR_WRITING, NEAR, DATA = (ir.Constant(ir.IntType(32), choice) for choice in (1, 3, 1))


def _pointer(builder: Any, kind: Any, address: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])


@intrinsic
def word_at(typingctx: Any, address: Any, index: Any) -> Any:
    """The index-th of the 64-bit words from an address on."""
    return types.uint64(types.uint64, types.int64), lambda context, builder, signature, args: builder.load(_pointer(builder, WORD, *args))


@intrinsic
def number_at(typingctx: Any, address: Any, index: Any) -> Any:
    """The index-th of the 32-bit numbers from an address on."""
    return types.uint32(types.uint64, types.int64), lambda context, builder, signature, args: builder.load(_pointer(builder, NUMBER, *args))


@intrinsic
def put_word(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the index-th of the 64-bit words from an address on."""
    return types.void(types.uint64, types.int64, types.uint64), _store(WORD)


@intrinsic
def put_number(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the index-th of the 32-bit numbers from an address on."""
    return types.void(types.uint64, types.int64, types.uint32), _store(NUMBER)


def _store(kind: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(builder, kind, args[0], args[1]))
        return context.get_dummy_value()

    return generate


@intrinsic
def claim_word(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the index-th of the 64-bit words from an address on if it is 0, at once for all threads; answers what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(WORD, 0)
        return builder.extract_value(builder.cmpxchg(_pointer(builder, WORD, args[0], args[1]), zero, args[2], "acq_rel", "acquire"), 0)

    return types.uint64(types.uint64, types.int64, types.uint64), generate


@intrinsic
def lower_number(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Make the index-th of the 32-bit numbers from an address on the lesser of itself and this one, at once for all threads; answers what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("umin", _pointer(builder, NUMBER, args[0], args[1]), args[2], "monotonic")

    return types.uint32(types.uint64, types.int64, types.uint32), generate


@intrinsic
def word_by_now(typingctx: Any, address: Any, index: Any) -> Any:
    """The index-th of the 64-bit words from an address on, which another thread may be writing."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(builder, WORD, args[0], args[1]), "acquire", 8)

    return types.uint64(types.uint64, types.int64), generate


@intrinsic
def number_by_now(typingctx: Any, address: Any, index: Any) -> Any:
    """The index-th of the 32-bit numbers from an address on, which another thread may be writing."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(builder, NUMBER, args[0], args[1]), "monotonic", 4)

    return types.uint32(types.uint64, types.int64), generate


@intrinsic
def matches(typingctx: Any, address: Any, value: Any) -> Any:
    """Which of the eight words at an address, a multiple of 64, are this one: bit k for the k-th."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.load(builder.inttoptr(args[0], EIGHT.as_pointer()), align=64)
        alike = ir.Constant(EIGHT, ir.Undefined)
        for k in range(8):
            alike = builder.insert_element(alike, args[1], ir.Constant(NUMBER, k))
        return builder.zext(builder.bitcast(builder.icmp_unsigned("==", words, alike), BYTE), WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def first_bit(typingctx: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; there must be one."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.cttz(args[0], ir.Constant(TRUTH, 1))


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Have the memory at an address brought near; any address will do."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.inttoptr(args[0], BYTE.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [at.type, NUMBER, NUMBER, NUMBER])
        builder.call(builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind), [at, FOR_WRITING, NEAR, DATA])
        return context.get_dummy_value()

    return types.void(types.uint64), generate
