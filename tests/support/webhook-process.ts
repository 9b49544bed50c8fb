/**
 * A process that posts webhooks, for tests of the limits of a whole process: its requests at once, its file
 * descriptors, its trusted authorities. Arguments: the name of the scenario and the URL. Prints the answers as JSON.
 */
import { openSync } from 'node:fs'
import { postWebhook } from '../../src/delivery/webhooks/post'
import { issueCertificate } from './certificates'
import { LOOPBACK, startReceiver } from './receiver'

const HANGING = 300

const scenarios: Record<string, (url: string) => Promise<unknown>> = {
  /** A good receiver is asked while many others hang. */
  async hanging() {
    using slow = await startReceiver({ answer: 'hang' })
    using good = await startReceiver()
    const common = { headers: {}, body: '{}', allowed: LOOPBACK, ca: slow.ca }
    for (let n = 0; n < HANGING; n++) void postWebhook({ ...common, url: slow.url })
    await slow.waitFor(HANGING)
    const answer = await postWebhook({ ...common, url: good.url, timeout_ms: 15_000 })
    return { error: answer.error, hanging: slow.requests.length }
  },

  /** All file descriptors of the process are used up. */
  async descriptors(url) {
    // Modules that are loaded at their first use must be loaded by now.
    const request = { url, headers: {}, body: '{}', allowed: LOOPBACK }
    const literal = { ...request, url: url.replace('localhost', '127.0.0.1') }
    await postWebhook(literal)
    for (;;) {
      try {
        openSync('/dev/null', 'r')
      } catch {
        break
      }
    }
    return postWebhook(literal)
  },

  /** An extra authority is given, and the receiver's is one of the system's. */
  async authorities(url) {
    const { ca } = await issueCertificate()
    return postWebhook({ url, headers: {}, body: '{}', allowed: LOOPBACK, ca })
  },
}

const [name = '', url = ''] = process.argv.slice(2)
console.log(JSON.stringify(await scenarios[name]!(url)))
process.exit()
