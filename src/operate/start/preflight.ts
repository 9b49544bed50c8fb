/** Checks before anything starts what only the file system and the network can tell about the settings. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { isEmailAddress } from '../../base/address/email'
import { type Config, ConfigError, config } from '../../base/config'
import { makePrivateFolder } from '../../base/process/private-folder'
import { closeToOthers } from './data-dir'

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** A certificate with its key, both in PEM. */
export type Certificate = { cert: string; key: string }

/** Checks everything of the settings but the certificate. @throws ConfigError for the first one that is wrong */
export async function checkSettings(settings: Config = config): Promise<void> {
  if (!isEmailAddress(settings.ADMIN_EMAIL)) throw new ConfigError('ADMIN_EMAIL must be an email address')
  checkAuthorities(settings)
  if (settings.ATTACHMENT_STORE === 'file') checkFolder(path.join(settings.DATA_DIR, 'attachments'), settings)
  await checkHost(settings.HOST)
}

/**
 * Checks the files of extra certificate authorities, which are read again at the first connection.
 * @throws ConfigError
 */
export function checkAuthorities(settings: Config = config): void {
  for (const variable of ['WEBHOOK_CA_FILE', 'MAIL_CA_FILE', 'IDENTITY_CA_FILE'] as const) {
    const file = settings[variable]
    if (file) readCertificates(variable, file)
  }
}

/**
 * The certificate for HTTPS and STARTTLS; undefined when none is set.
 * @throws ConfigError when a file cannot be read, or the key belongs to another certificate
 */
export function readCertificate(settings: Config = config): Certificate | undefined {
  const { TLS_CERT_FILE, TLS_KEY_FILE } = settings
  if (!TLS_CERT_FILE || !TLS_KEY_FILE) return undefined
  const { text: cert, first } = readCertificates('TLS_CERT_FILE', TLS_CERT_FILE)
  const key = readFileOf('TLS_KEY_FILE', TLS_KEY_FILE)
  if (!first.checkPrivateKey(readKey(TLS_KEY_FILE, key))) {
    throw new ConfigError(
      `TLS_KEY_FILE names ${TLS_KEY_FILE}, which is not the key of the certificate in TLS_CERT_FILE`,
    )
  }
  return { cert, key }
}

/** Makes a folder in DATA_DIR, or DATA_DIR itself. @throws ConfigError when nothing can be written there */
export function checkFolder(folder: string, { DATA_DIR }: Pick<Config, 'DATA_DIR'> = config): void {
  try {
    makePrivateFolder(DATA_DIR)
    closeToOthers(DATA_DIR)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw new ConfigError(
      `DATA_DIR ${DATA_DIR} cannot be used: ${error instanceof Error ? error.message : error}${whoMayWrite(error, DATA_DIR)}`,
    )
  }
}

/** Says who asks and what mends it, when the system refuses a folder to this user. */
function whoMayWrite(error: unknown, data_dir: string): string {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'EACCES' && code !== 'EPERM') return ''
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()]
  if (isClosedTo(uid, data_dir)) return `. It is closed to its owner: chmod u+rwx ${data_dir}`
  return `. This is OS user ${uid}: as root, mkdir -p ${data_dir} && chown -R ${uid}:${gid} ${data_dir}`
}

/** Says who asks and what mends it, when the system refuses a file of DATA_DIR to this user. */
export function whoMayRead(error: unknown, file: string, mode = '600'): string {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'EACCES' && code !== 'EPERM') return ''
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()]
  const owner = mode === '600' ? `chown ${uid}:${gid}` : `chgrp ${gid}`
  return `. This is OS user ${uid}: as root, ${owner} ${file} && chmod ${mode} ${file}`
}

/** True for a folder of the user who may not do everything in it. */
function isClosedTo(uid: number | undefined, folder: string): boolean {
  try {
    const found = statSync(folder)
    return found.uid === uid && (found.mode & 0o700) !== 0o700
  } catch {
    return false
  }
}

/** Listens on the address for a moment: only that shows whether a listener can have it. */
async function checkHost(host: string): Promise<void> {
  const server = createServer()
  try {
    server.listen(0, host)
    await once(server, 'listening')
  } catch {
    throw new ConfigError(`HOST ${host} is not a name or address of this machine`)
  } finally {
    server.close()
  }
}

type FileVariable = 'TLS_CERT_FILE' | 'TLS_KEY_FILE' | 'WEBHOOK_CA_FILE' | 'MAIL_CA_FILE' | 'IDENTITY_CA_FILE'

function readFileOf(variable: FileVariable, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(
      `${variable} names ${file}, which cannot be read${whoMayRead(error, file, '640')}${code === 'EACCES' ? `, and let that user into ${path.dirname(file)}` : ''}`,
    )
  }
}

function readCertificates(variable: FileVariable, file: string): { text: string; first: X509Certificate } {
  const text = readFileOf(variable, file)
  try {
    const [first] = (text.match(PEM_CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem))
    if (first) return { text, first }
  } catch {
    // Reported below, as a file without any certificate is.
  }
  throw new ConfigError(`${variable} names ${file}, which holds no certificate in PEM`)
}

function readKey(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    throw new ConfigError(
      `TLS_KEY_FILE names ${file}, which holds no private key in PEM that can be read without a password`,
    )
  }
}
