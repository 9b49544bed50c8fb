/** Looks at the programs that judge mail: clamd, which scans attachments, and rspamd. */
import { config } from '../../base/config'
import { safeError } from '../../base/log'
import { pingClamd } from '../../desk/attachments/clamd'
import { pingRspamd } from '../../mail/spam/rspamd'
import { type Finding, failure } from './finding'

const ANSWER_MS = 3000

/** Asks if clamd answers. */
export async function checkScanner(): Promise<Finding[]> {
  const place = config.CLAMD_HOST
  if (!place) return []
  const fault = await pingFault(pingClamd(place, ANSWER_MS))
  if (fault === undefined) return []
  return [
    failure(
      `clamd at ${place} does not work: ${fault}. New files wait and cannot be read or sent`,
      'Start clamd with TCPSocket and TCPAddr, or correct CLAMD_HOST.',
    ),
  ]
}

/** Asks if rspamd answers. A password in its URL is not shown. */
export async function checkSpamJudge(): Promise<Finding[]> {
  const url = config.RSPAMD_URL
  if (!url) return []
  const fault = await pingFault(pingRspamd(url, ANSWER_MS))
  if (fault === undefined) return []
  return [
    failure(
      `rspamd at ${new URL(url).host} does not work: ${fault}. Mail that no relay has judged is filed, spam too`,
      'Start rspamd, and let RSPAMD_URL lead to its normal worker (port 11333).',
    ),
  ]
}

async function pingFault(ping: Promise<void>): Promise<string | undefined> {
  try {
    await ping
    return undefined
  } catch (error) {
    const { code, message, name } = safeError(error)
    return String(code ?? message ?? name)
  }
}
