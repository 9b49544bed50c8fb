/** Looks at the certificate of HTTPS and STARTTLS, and at the files of further authorities. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { config } from '../../base/config'
import { OperatorError } from '../../base/errors'
import { findCertificateFaults } from '../start/certificate'
import { checkAuthorities, readCertificate } from '../start/preflight'
import { type Finding, failure, warning } from './finding'

/** Reads the files while the process may still be root, as the service does. */
export async function checkCertificate(): Promise<Finding[]> {
  try {
    checkAuthorities()
    const certificate = readCertificate()
    return certificate ? [...knownFaults(), ...nameFaults(certificate.cert)] : []
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

/** The log of the service itself. */
function knownFaults(): Finding[] {
  const action = `Put a certificate that is valid for the host of BASE_URL into ${config.TLS_CERT_FILE}, and its key into ${config.TLS_KEY_FILE}. The service takes it over within seconds.`
  return findCertificateFaults().map(({ level, text }) =>
    level === 'error' ? failure(`${text}. Clients refuse HTTPS and STARTTLS`, action) : warning(text, action),
  )
}

/** Mail servers that verify the certificate know the service by SMTP_HOSTNAME. */
function nameFaults(cert: string): Finding[] {
  const { SMTP_PORT, SMTP_HOSTNAME } = config
  const certificate = new X509Certificate(cert)
  // A name without a dot is no name of the internet.
  if (SMTP_PORT === 0 || isIP(SMTP_HOSTNAME) || !SMTP_HOSTNAME.includes('.')) return []
  if (certificate.checkHost(SMTP_HOSTNAME) !== undefined) return []
  return [
    warning(
      `The certificate in TLS_CERT_FILE does not name ${SMTP_HOSTNAME}, the SMTP_HOSTNAME: mail servers that verify it refuse STARTTLS`,
      'Get a certificate for this name too, or set SMTP_HOSTNAME to a name that it covers.',
    ),
  ]
}
