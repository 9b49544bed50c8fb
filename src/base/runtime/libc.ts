/**
 * Calls functions of the C library that no module of Node offers. Standard twin: `Deno.dlopen`; for a program of Node a
 * package such as koffi.
 */
import { dlopen, type FFIFunction, type Library } from 'bun:ffi'

export { ptr as addressOf } from 'bun:ffi'

/** The functions by their names. @param signatures what each takes and returns */
export function openLibc<Signatures extends Record<string, FFIFunction>>(
  signatures: Signatures,
): Library<Signatures>['symbols'] {
  return dlopen(process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6', signatures).symbols
}
