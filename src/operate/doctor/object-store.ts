/** Tries the store of attachments and originals: writes, reads and removes an object. */

import { config } from '../../base/config'
import { safeError } from '../../base/log'
import { openStore } from '../../desk/attachments/storage'
import { type Finding, failure } from './finding'

/** Causes by the codes of S3 and of the client. Any other code is shown as it is. */
const CAUSES: [codes: RegExp, cause: string, action: string][] = [
  [
    /^(ConnectionRefused|ConnectionClosed|ConnectionReset|Timeout|ECONN)/,
    'nothing answers there',
    'Start S3, or correct S3_ENDPOINT and the firewall.',
  ],
  [/^(DNSResolveFailed|ENOTFOUND)/, 'its name is not known', 'Correct the host of S3_ENDPOINT.'],
  [
    /TLS|CERT|SSL/i,
    'its TLS certificate is not accepted',
    'Correct S3_ENDPOINT. For a private authority, set NODE_EXTRA_CA_CERTS to a file with its certificate.',
  ],
  [/^NoSuchBucket$/, 'the bucket does not exist', 'Correct ATTACHMENT_STORE, or make the bucket.'],
  [
    /^(InvalidAccessKeyId|ERR_S3_MISSING_CREDENTIALS)$/,
    'the id of the key is not known',
    'Correct S3_ACCESS_KEY_ID, and S3_SECRET_ACCESS_KEY with it.',
  ],
  [/^SignatureDoesNotMatch$/, 'the secret of the key is wrong', 'Correct S3_SECRET_ACCESS_KEY.'],
  [
    /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraintException)$/,
    'the bucket is in another region',
    'Set S3_REGION to the region of the bucket.',
  ],
  [
    /^(AccessDenied|AllAccessDisabled)$/,
    'the key may not do it',
    'Give the key the rights s3:PutObject, s3:GetObject and s3:DeleteObject on the objects of the bucket.',
  ],
  [/^(RequestTimeTooSkewed|RequestExpired)$/, 'the clock of this machine is wrong', 'Set the clock by NTP.'],
]

/** Looks at the bucket of ATTACHMENT_STORE. Files under DATA_DIR are looked at with the disk. */
export async function checkObjectStore(): Promise<Finding[]> {
  if (config.ATTACHMENT_STORE === 'file') return []
  const key = `doctor/${crypto.randomUUID()}`
  const bytes = Buffer.from('A probe of the doctor, which may be removed.\n')
  const store = openStore()
  let step = 'written'
  try {
    await store.put(key, bytes)
    step = 'read'
    const read = await store.read(key)
    if (!bytes.equals(read)) return [wrongBytes()]
    step = 'removed'
    await store.remove(key)
    return []
  } catch (error) {
    if (step === 'read') await store.remove(key).catch(() => {})
    return [failureOf(step, error)]
  }
}

function wrongBytes(): Finding {
  return failure(
    `${placeOfStore()} does not give back what was stored: attachments would be damaged`,
    'Look at what is between the service and S3, such as a proxy or a cache.',
  )
}

function failureOf(step: string, error: unknown): Finding {
  const cause = error instanceof Error && error.cause ? error.cause : error
  const { code, message, name } = safeError(cause)
  const text = String(code ?? message ?? name)
  const [, why = `it answers ${text}`, action = 'Look up this code in the documentation of S3, and in its log.'] =
    CAUSES.find(([codes]) => codes.test(text)) ?? []
  return failure(
    `An object cannot be ${step} at ${placeOfStore()}: ${why}. Uploads and downloads are answered 503, mail 451`,
    action,
    { code: text },
  )
}

function placeOfStore(): string {
  return config.S3_ENDPOINT ? `${config.ATTACHMENT_STORE} (${config.S3_ENDPOINT})` : config.ATTACHMENT_STORE
}
