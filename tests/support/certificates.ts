/** A certificate authority for tests, and server certificates that it signed. Made at run time: nothing expires. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type GenerateResult, generate } from 'selfsigned'

export type Certificate = {
  /** PEM, to serve with. */
  cert: string
  /** PEM, to serve with. */
  key: string
  /** PEM of the authority, to trust. */
  ca: string
  /** Path of a file with `ca`, for settings that take a file. */
  ca_file: string
  /** Path of a file with `cert`. */
  cert_file: string
  /** Path of a file with `key`. */
  key_file: string
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '::1']
const DAY_MS = 86_400_000

const issued = new Map<string, Promise<Certificate>>()
let authority: Promise<GenerateResult> | undefined
let folder: string | undefined

/**
 * A server certificate signed by the authority of this process. Asking twice for the same names gives the same one.
 * @param names host names and IP addresses it is valid for
 */
export function issueCertificate(names: string[] = LOOPBACK_NAMES): Promise<Certificate> {
  const key = names.join()
  const certificate = issued.get(key) ?? signCertificate(names)
  issued.set(key, certificate)
  return certificate
}

/** Like `issueCertificate`, but its validity ended yesterday. */
export function issueExpiredCertificate(names: string[] = LOOPBACK_NAMES): Promise<Certificate> {
  return signCertificate(names, new Date(Date.now() - 2 * DAY_MS), new Date(Date.now() - DAY_MS))
}

/** Like `issueCertificate`, but its validity ends in some days. */
export function issueEndingCertificate(days: number, names: string[] = LOOPBACK_NAMES): Promise<Certificate> {
  return signCertificate(names, yesterday(), new Date(Date.now() + days * DAY_MS))
}

async function signCertificate(names: string[], notBeforeDate = yesterday(), notAfterDate = tomorrow()) {
  authority ??= createAuthority()
  const { cert: ca, private: ca_key } = await authority
  const { cert, private: key } = await generate([{ name: 'commonName', value: names[0] }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate,
    ca: { cert: ca, key: ca_key },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  })
  return { cert, key, ca, ca_file: save(ca), cert_file: save(cert), key_file: save(key) }
}

function createAuthority() {
  // Authorities of the same name would be taken for one another by those who trust two of them.
  return generate([{ name: 'commonName', value: `Test authority ${Bun.randomUUIDv7()}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: yesterday(),
    notAfterDate: tomorrow(),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
}

function save(pem: string): string {
  folder ??= mkdtempSync(path.join(tmpdir(), 'certificates-'))
  const file = path.join(folder, `${Bun.randomUUIDv7()}.pem`)
  writeFileSync(file, pem, { mode: 0o600 })
  return file
}

function yesterday(): Date {
  return new Date(Date.now() - DAY_MS)
}

function tomorrow(): Date {
  return new Date(Date.now() + DAY_MS)
}
