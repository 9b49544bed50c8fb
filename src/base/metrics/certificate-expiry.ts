/** Shows when the certificate of HTTPS and STARTTLS ends. Without a certificate there is no such figure. */
import { Gauge } from 'prom-client'

const NAME = 'deskwire_tls_certificate_expiry_timestamp_seconds'

let gauge: Gauge | undefined

/** @param end of the validity of the certificate that is served */
export function showExpiry(end: Date): void {
  gauge ??= new Gauge({ name: NAME, help: 'End of the validity of the TLS certificate, in Unix time' })
  gauge.set(end.getTime() / 1000)
}
