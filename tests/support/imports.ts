/** Folders to import, and the command that imports them. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { BACKUP_COMMANDS } from '../../src/operate/backup/backup-commands'
import { CONVERT_COMMANDS } from '../../src/operate/convert/convert-command'
import { IMPORT_COMMANDS } from '../../src/operate/import/import-command'
import { readCommandLine } from '../../src/operate/start/command-line'
import { disconnected } from './api'
import { runCli, runHere } from './backups'

type Numbers = { created: number; updated: number; unchanged: number; conflicts: number; failed: number }

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export type Rows = Record<string, any[]>

/** A folder that others may enter. */
export function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'import-'))
  fs.chmodSync(folder, 0o711)
  return folder
}

/**
 * The settings of a command on the database of a test. With a file of others in its folder, the command stays the user
 * that the API runs as here.
 */
export function commandSettings(database_url: string): Record<string, string> {
  const DATA_DIR = process.env.DATA_DIR!
  fs.mkdirSync(DATA_DIR, { recursive: true })
  fs.writeFileSync(path.join(DATA_DIR, 'others'), '')
  return { DATABASE_URL: database_url, SECRET_KEY: 'a secret key that only tests use', DATA_DIR }
}

/** Writes files of JSON lines. A row that is text stands there as it is. */
export function writeRows(folder: string, files: Rows): void {
  for (const [name, rows] of Object.entries(files)) {
    const lines = rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`)
    fs.writeFileSync(path.join(folder, `${name}.jsonl`), lines.join(''))
  }
}

/** The rows of a file. */
// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export function readRows(folder: string, name: string): any[] {
  const lines = fs.readFileSync(path.join(folder, `${name}.jsonl`), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

/**
 * Reads what two exports must have alike: an id is named by its place among all that occur, so that what a row refers
 * to counts, and the id itself does not.
 */
export function readWithoutIds(folder: string, kinds: string[]): Rows {
  const names = new Map<string, string>()
  const nameOf = (id: string) => names.get(id) ?? names.set(id, `id ${names.size}`).get(id)!
  const texts = kinds.map((kind) => [kind, JSON.stringify(readRows(folder, kind)).replace(ID, nameOf)] as const)
  return Object.fromEntries(texts.map(([kind, text]) => [kind, JSON.parse(text)]))
}

/**
 * Runs a command that moves an organization in or out, in this process: a process of its own takes a second to start.
 * @returns its exit status and what it would print
 */
// biome-ignore lint/suspicious/noExplicitAny: each command prints another object
export async function move(args: string[], env: Record<string, string>): Promise<{ code: number; told: any }> {
  const { command, options, rest } = readCommandLine(args, [
    ...BACKUP_COMMANDS,
    ...CONVERT_COMMANDS,
    ...IMPORT_COMMANDS,
  ])
  if (command.needs !== 'nothing') throw new Error(`${command.name} gets its database from the program`)
  const run = command.run
  const told = await disconnected(() => runHere(env, async () => run(options, rest)))
  const code = Number(process.exitCode ?? 0)
  process.exitCode = 0
  return { code, told }
}

/** Imports a folder in this process. @returns the exit status of the command, and what it would print */
export async function importHere(
  folder: string,
  organization_id: string,
  env: Record<string, string>,
  ...options: string[]
): Promise<{ code: number; numbers: Record<string, Numbers> }> {
  const { code, told } = await move(['import', folder, '--organization', organization_id, ...options], env)
  return { code, numbers: told }
}

/** Imports a folder by the command. @returns what it printed */
export async function importFolder(
  folder: string,
  organization_id: string,
  env: Record<string, string>,
  ...options: string[]
): Promise<{ code: number | null; numbers: Record<string, Numbers>; stderr: string }> {
  const ended = await runCli(['import', folder, '--organization', organization_id, ...options], env)
  return { code: ended.code, numbers: ended.stdout ? JSON.parse(ended.stdout) : {}, stderr: ended.stderr }
}
