/** The program of the processes that render long bodies (`render.ts`). */
import { serve } from '../process/serve'
import { renderBody } from './body'
import type { Format } from './formats'
import { safeHtmlToText } from './text'

serve(async (work: { html: string } | { body: string; format?: Format }) =>
  'html' in work ? safeHtmlToText(work.html) : renderBody(work.body, work.format),
)
