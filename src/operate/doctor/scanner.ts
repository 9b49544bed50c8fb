/** Looks at the clamd that scans attachments. */
import { config } from '../../base/config'
import { safeError } from '../../base/log'
import { pingClamd } from '../../desk/attachments/clamd'
import { type Finding, failure } from './finding'

const ANSWER_MS = 3000

/** Asks if it answers. */
export async function checkScanner(): Promise<Finding[]> {
  const place = config.CLAMD_HOST
  if (!place) return []
  try {
    await pingClamd(place, ANSWER_MS)
    return []
  } catch (error) {
    const { code, message, name } = safeError(error)
    return [
      failure(
        `clamd at ${place} does not work: ${String(code ?? message ?? name)}. New files wait and cannot be read or sent`,
        'Start clamd with TCPSocket and TCPAddr, or correct CLAMD_HOST.',
      ),
    ]
  }
}
