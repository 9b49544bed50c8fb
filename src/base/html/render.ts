/** Renders bodies: short ones at once, long ones in processes beside the service, where organizations take turns. */
import { createLane, mostProcesses } from '../process/lane'
import { Ended, type WorkLimits } from '../process/lane-worker'
import { isLong, limitHtml, type RenderedBody, renderBody, textToPre } from './body'
import { type Format, formOf } from './formats'
import { safeHtmlToText } from './text'

/** A million characters of the worst HTML take 1.5 s of a processor. */
const LIMITS: WorkLimits = { processor_ms: 10_000 }

const lane = createLane(new URL('./render-main.ts', import.meta.url), { processes: mostProcesses() })

/**
 * Renders a body as `renderBody` does. To be called outside a transaction: a long body may wait for its turn.
 * @param format the form that its writer said
 * @param group id of the organization whose body it is
 * @returns the body as plain text when it takes too long
 * @throws Error when no process could be started
 */
export async function render(
  body: string,
  format: Format | undefined,
  group: string,
  limits = LIMITS,
): Promise<RenderedBody> {
  if (!isLong(body)) return renderBody(body, format)
  try {
    return await lane.run<RenderedBody>({ body, format }, { ...limits, group, size: Buffer.byteLength(body) })
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    return { format: format ?? formOf(body), body_html: limitHtml(textToPre(body), body), text: body }
  }
}

/**
 * Writes the HTML of a message as text, as `safeHtmlToText` does: a megabyte takes up to 0.2 s of a processor.
 * @param group id of the organization whose HTML it is
 * @throws Error when no process could be started
 */
export async function renderText(html: string, group: string): Promise<string> {
  if (!isLong(html)) return safeHtmlToText(html)
  return lane.run<string>({ html }, { ...LIMITS, group, size: Buffer.byteLength(html) })
}

/** Ends the processes and the work in them. */
export function closeRenderer(): Promise<void> {
  return lane.close()
}
