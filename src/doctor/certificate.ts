/** Looks at the certificate of HTTPS and STARTTLS, and at the files of further authorities. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { config } from '../config'
import { OperatorError } from '../errors'
import { checkAuthorities, readCertificate } from '../start/preflight'
import { type Finding, failure, warning } from './finding'

const DAY_MS = 86_400_000
/** Authorities renew certificates of 90 days a month before their end. */
const SOON_DAYS = 14

/** Reads the files while the process may still be root, as the service does. */
export async function checkCertificate(): Promise<Finding[]> {
  try {
    checkAuthorities()
    const certificate = readCertificate()
    if (!certificate) return []
    const first = new X509Certificate(certificate.cert)
    return [...dateFindings(first), ...nameFindings(first)]
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return [
      failure(
        `${error.message}. The service does not start with it`,
        'Correct the setting or the file. The key must belong to the first certificate of TLS_CERT_FILE.',
      ),
    ]
  }
}

function dateFindings({ validFromDate, validToDate }: X509Certificate): Finding[] {
  const left_days = (validToDate.getTime() - Date.now()) / DAY_MS
  const renew = `Put the renewed certificate into ${config.TLS_CERT_FILE}, and its key into ${config.TLS_KEY_FILE}.`
  const day = validToDate.toISOString().slice(0, 10)
  if (left_days < 0) {
    return [failure(`The certificate expired on ${day}: clients refuse HTTPS and STARTTLS`, renew, { expires: day })]
  }
  if (validFromDate.getTime() > Date.now()) {
    const from = validFromDate.toISOString()
    return [failure(`The certificate is not valid before ${from}`, 'Check the clock of this machine, or wait.')]
  }
  if (left_days > SOON_DAYS) return []
  return [warning(`The certificate expires on ${day}, in ${Math.floor(left_days)} days`, renew, { expires: day })]
}

function nameFindings(certificate: X509Certificate): Finding[] {
  const names = certificate.subjectAltName?.replace(/\b(DNS|IP Address):/g, '') ?? 'no names'
  const covers = (name: string) =>
    isIP(name) ? certificate.checkIP(name) !== undefined : certificate.checkHost(name) !== undefined
  const host = new URL(config.BASE_URL).hostname.replace(/^\[(.*)\]$/, '$1')
  const findings: Finding[] = []
  if (!covers(host)) {
    findings.push(
      warning(
        `The certificate (${names}) does not cover ${host}, the host of BASE_URL: clients refuse it, unless a proxy has its own`,
        'Get a certificate for this name, or set BASE_URL to a name that it covers.',
      ),
    )
  }
  if (config.SMTP_PORT > 0 && config.SMTP_HOSTNAME.includes('.') && !covers(config.SMTP_HOSTNAME)) {
    findings.push(
      warning(
        `The certificate (${names}) does not cover ${config.SMTP_HOSTNAME}, the SMTP_HOSTNAME: mail servers that verify it refuse STARTTLS`,
        'Get a certificate for this name too, or set SMTP_HOSTNAME to a name that it covers.',
      ),
    )
  }
  return findings
}
