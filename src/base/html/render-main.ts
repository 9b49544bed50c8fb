/** The program of the processes that render long bodies (`render.ts`). */
import { serve } from '../process/serve'
import { renderBody } from './body'
import type { Format } from './formats'

serve(async ({ body, format }: { body: string; format?: Format }) => renderBody(body, format))
