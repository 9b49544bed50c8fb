/** Keeps the certificate of HTTPS and STARTTLS up to date while the service runs, and says what is wrong with it. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isatty } from 'node:tty'
import { ConfigError, config } from '../../base/config'
import { log } from '../../base/log'
import { showExpiry } from '../../base/metrics/certificate-expiry'
import { type Certificate, readCertificate } from './preflight'

/**
 * Time between looks at the files. Their contents are compared: notices of the file system do not come through symlinks
 * that are swapped (certbot, Kubernetes secrets), nor from every kind of volume.
 */
const LOOK_MS = 5_000
const DAY_MS = 86_400_000
/** Certificates are renewed a month before their end: with less than this something has failed. */
const SOON_DAYS = 21

/** The fault of a certificate: a sentence for log and operator. */
type CertificateFault = { level: 'warn' | 'error'; text: string }

/** Checks the certificate of the settings as it is in its files now. Without one nothing is wrong. */
export function findCertificateFaults(): CertificateFault[] {
  try {
    const certificate = readCertificate()
    return certificate ? faultsOf(certificate) : []
  } catch (error) {
    if (error instanceof ConfigError) return [{ level: 'error', text: error.message }]
    throw error
  }
}

/** Ends of validity, and the name that clients ask for. @param now_ms for tests */
export function faultsOf({ cert }: Certificate, now_ms = Date.now()): CertificateFault[] {
  const leaf = new X509Certificate(cert)
  const { hostname } = new URL(config.BASE_URL)
  const faults: CertificateFault[] = []
  const days = Math.floor((leaf.validToDate.getTime() - now_ms) / DAY_MS)
  const end = leaf.validToDate.toISOString()
  if (days < 0) faults.push({ level: 'error', text: `The certificate in TLS_CERT_FILE expired at ${end}: renew it` })
  else if (days < SOON_DAYS) {
    faults.push({ level: 'warn', text: `The certificate in TLS_CERT_FILE expires at ${end}: renew it` })
  }
  if (leaf.validFromDate.getTime() > now_ms) {
    const begin = leaf.validFromDate.toISOString()
    faults.push({ level: 'error', text: `The certificate in TLS_CERT_FILE is not valid before ${begin}` })
  }
  if (!names(leaf, hostname)) {
    faults.push({
      level: 'warn',
      text: `The certificate in TLS_CERT_FILE does not name ${hostname}, the host of BASE_URL`,
    })
  }
  return faults
}

function names(leaf: X509Certificate, hostname: string): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return (isIP(address) ? leaf.checkIP(address) : leaf.checkHost(hostname)) !== undefined
}

export class CertificateKeeper {
  #present: Certificate | undefined
  #replace: ((certificate: Certificate) => void) | undefined
  #logged = ''

  /**
   * From now on SIGHUP does not end the process. @param present the certificate that is served; undefined without TLS
   */
  constructor(present: Certificate | undefined) {
    this.#present = present
    process.on('SIGHUP', () => this.#hangUp())
  }

  /** Watches the files, and logs what is wrong now, and again each day. @param replace serves another certificate */
  start(replace: (certificate: Certificate) => void): void {
    this.#replace = replace
    if (!this.#present) return
    this.#report()
    setInterval(() => this.look(), LOOK_MS).unref()
    setInterval(() => this.#report(), DAY_MS).unref()
  }

  /** Takes over what is in the files, if it is another certificate that fits its key. */
  look(): 'replaced' | 'unchanged' | 'unusable' {
    try {
      const found = readCertificate()
      this.#logged = ''
      if (!found || (found.cert === this.#present?.cert && found.key === this.#present.key)) return 'unchanged'
      // Before the listeners are there, the next look finds it again.
      if (!this.#replace) return 'unchanged'
      this.#replace(found)
      this.#present = found
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      // The files are not changed at the same instant, so a look may find the new one of one and the old one of the
      // other.
      if (this.#logged !== error.message) log.warn(`${error.message}. The former certificate stays in use`)
      this.#logged = error.message
      return 'unusable'
    }
    log.info({ not_after: endOf(this.#present) }, 'the certificate was replaced')
    this.#report()
    return 'replaced'
  }

  #hangUp(): void {
    if (IS_ON_TERMINAL && !isatty(0)) {
      log.info('the terminal is gone')
      process.kill(process.pid, 'SIGTERM')
    } else if (!this.#present) log.info('SIGHUP: there is no certificate to read again')
    else if (this.look() === 'unchanged') log.info({ not_after: endOf(this.#present) }, 'the certificate is the same')
  }

  #report(): void {
    if (!this.#present) return
    showExpiry(new X509Certificate(this.#present.cert).validToDate)
    for (const { level, text } of faultsOf(this.#present)) log[level](text)
  }
}

/** Whoever closes a terminal sends SIGHUP to what runs in it, and means its end. */
const IS_ON_TERMINAL = isatty(0)

function endOf(certificate: Certificate): string {
  return new X509Certificate(certificate.cert).validToDate.toISOString()
}
