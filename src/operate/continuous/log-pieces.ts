/**
 * The pieces of PostgreSQL's write-ahead log that are to be backed up. With `archive_mode` on and no `archive_command`,
 * the server marks each complete piece as `.ready` and keeps it until the mark is renamed to `.done`: that is the
 * interface between the server and whatever archives. So pieces are read where they are. An `archive_command` would
 * copy each of them once more on this disk, by a shell that the image may not have, and the copies would have to be
 * bounded too.
 */
import fs from 'node:fs'
import path from 'node:path'
import { asUser } from '../../base/db/embedded/file-user'
import type { Home } from '../../base/db/embedded/home'
import { bytesBelow } from '../../base/disk/plain-file'

/** Bytes of a piece. */
export const PIECE_BYTES = 16 * 1024 * 1024

/** Pieces with one number in the middle of their names: 2^32 bytes. */
const PER_GROUP = 2 ** 32 / PIECE_BYTES

const PIECE = /^[0-9A-F]{24}$/
const HISTORY = /^[0-9A-F]{8}\.history$/

/** Names of complete pieces that nobody has backed up yet, in the order of the log. */
export function readyPieces(home: Home): string[] {
  const names = fs.readdirSync(marks(home)).flatMap((file) => (file.endsWith('.ready') ? [file.slice(0, -6)] : []))
  return names.toSorted()
}

/** True for a piece of the log, false for a note about it. */
export function isPiece(name: string): boolean {
  return PIECE.test(name)
}

/** True for what a restore needs. A backup's label and the half piece of an ended timeline are in others. */
export function isNeeded(name: string): boolean {
  return PIECE.test(name) || HISTORY.test(name)
}

/** Lets the server remove a piece. */
export function endPiece(home: Home, name: string): void {
  asUser(home.user, () => {
    const mark = path.join(marks(home), name)
    fs.renameSync(`${mark}.ready`, `${mark}.done`)
  })
}

/** Reads a piece where the server keeps it. */
export function bytesOfPiece(home: Home, name: string): AsyncGenerator<Uint8Array> {
  return bytesBelow(home.data, `pg_wal/${name}`)
}

/** The place of a piece in the log. */
export function placeOf(piece: string): { timeline: string; number: number } {
  const [timeline, group, rest] = [piece.slice(0, 8), piece.slice(8, 16), piece.slice(16)]
  return { timeline, number: Number.parseInt(group, 16) * PER_GROUP + Number.parseInt(rest, 16) }
}

/** True when nothing is between two pieces. */
export function follows(piece: string, before: string): boolean {
  const [later, earlier] = [placeOf(piece), placeOf(before)]
  return later.timeline === earlier.timeline && later.number === earlier.number + 1
}

function marks(home: Home): string {
  return path.join(home.data, 'pg_wal', 'archive_status')
}
