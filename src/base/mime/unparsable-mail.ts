/**
 * Says that a message cannot be taken apart (too many parts, megabytes of header, out of time): its original is kept.
 */
export class UnparsableMail extends Error {
  override readonly name = 'UnparsableMail'
}
