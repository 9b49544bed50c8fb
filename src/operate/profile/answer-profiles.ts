/** Answers `cli profile`: a socket below DATA_DIR that only root and the user of the service may open. */
import fs from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import path from 'node:path'
import { config } from '../../base/config'
import { log, safeError } from '../../base/log'
import { profileWorkers } from '../../base/process/lane-worker'
import { makePrivateFolder } from '../../base/process/private-folder'
import { profileProcess } from '../../base/process/profile'
import { PROFILE_FOLDER } from '../start/data-dir'

/** Listens until the process ends. A service that cannot listen runs, and says so. */
export function listenForProfiles(): void {
  const socket = path.join(config.DATA_DIR, PROFILE_FOLDER, `${process.pid}.sock`)
  const warn = (error: unknown) => log.warn({ error: safeError(error) }, 'this process cannot be profiled')
  try {
    makePrivateFolder(path.dirname(socket))
    fs.rmSync(socket, { force: true })
    const server = createServer(answer).on('error', warn)
    server.listen(socket, () => fs.chmodSync(socket, 0o600)).unref()
    process.on('exit', () => fs.rmSync(socket, { force: true }))
  } catch (error) {
    warn(error)
  }
}

let is_busy = false

async function answer({ url }: IncomingMessage, response: ServerResponse): Promise<void> {
  if (is_busy) return void response.writeHead(409).end('another profile is being taken')
  is_busy = true
  try {
    const duration_ms = Number(new URL(url!, 'http://service').searchParams.get('duration_ms'))
    const own = profileProcess({ name: 'service', duration_ms })
    const profiles = await Promise.all([own, profileWorkers(duration_ms)])
    response.end(JSON.stringify(profiles.flat()))
  } catch (error) {
    response.writeHead(500).end(JSON.stringify(safeError(error)))
  } finally {
    is_busy = false
  }
}
