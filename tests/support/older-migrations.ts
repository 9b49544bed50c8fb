/** Migrations of releases before. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { MIGRATIONS_FOLDER } from '../../src/base/db/migration-files'

/** Makes a folder with the migrations before the first one whose name ends so. @returns the folder, to be removed */
export function migrationsBefore(end: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'))
  fs.cpSync(MIGRATIONS_FOLDER, folder, { recursive: true })
  const file = path.join(folder, 'meta/_journal.json')
  const journal: { entries: { tag: string }[] } = JSON.parse(fs.readFileSync(file, 'utf8'))
  const place = journal.entries.findIndex(({ tag }) => tag.endsWith(end))
  if (place < 0) throw new Error(`there is no migration ${end}`)
  fs.writeFileSync(file, JSON.stringify({ ...journal, entries: journal.entries.slice(0, place) }))
  return folder
}
