/** The program of the processes that render long bodies (`render.ts`). */
import { serve } from '../process/serve'
import { renderBody } from './body'

serve(async ({ body }: { body: string }) => renderBody(body))
