/** The operator's command to make a folder for an import of what another desk left. It needs no network. */
import path from 'node:path'
import { isTimeZone } from '../../base/shapes/time'
import { BackupError, explained } from '../backup/backup-error'
import { enterNewFolder } from '../backup/operator-folder'
import { openReport } from '../import/import-report'
import { type Command, type Options, UsageError } from '../start/command-line'
import { convertFreescout } from './freescout'
import { convertFreshdesk } from './freshdesk'
import { convertOsticket } from './osticket'
import { jsonFiles } from './read-json'
import { Source } from './source'
import { OutFolder } from './write-folder'
import { convertZammad } from './zammad'
import { convertZendesk } from './zendesk'

const WHAT = 'the conversion'

type Convert = (source: Source, out: OutFolder, zone: string) => Promise<void>

const DESKS: Record<string, Convert> = {
  zendesk: convertZendesk,
  freshdesk: convertFreshdesk,
  freescout: convertFreescout,
  osticket: convertOsticket,
  zammad: convertZammad,
}

export const CONVERT_COMMANDS: Command[] = [
  {
    name: 'convert',
    options: 'DESK SOURCE FOLDER [--time-zone ZONE] [--report FILE]',
    meaning:
      'Makes a folder for import of what zendesk or freshdesk (JSON), freescout, osticket or zammad (SQL dump, files) left. ZONE is that of the server of osTicket, UTC by default. FILE gets each row that was cut or left out.',
    needs: 'nothing',
    run: convert,
  },
]

async function convert({ desk, source, folder, report: file, 'time-zone': zone = 'UTC' }: Options): Promise<object> {
  const run = new Map(Object.entries(DESKS)).get(String(desk))
  if (!run) throw new UsageError(`DESK must be one of ${Object.keys(DESKS).join(', ')}`)
  if (!isTimeZone(String(zone))) throw new UsageError('--time-zone must be a zone such as Europe/Berlin')
  const name = path.resolve(String(folder))
  const read = new Source(path.resolve(String(source)))
  const report = openReport(typeof file === 'string' ? path.resolve(file) : undefined, WHAT)
  const target = enterNewFolder(name, WHAT)
  const out = new OutFolder(report)
  try {
    await run(read, out, String(zone))
    for (const one of jsonFiles(read)) {
      if (!read.used.has(one)) out.leaveOut(one, null, `has nothing of ${desk}, or its name does not say what is in it`)
    }
    out.close()
    if (Object.keys(out.rows).length === 0) throw new BackupError(`the source has nothing of ${desk}`)
    target.keep()
    const { rows, files, missing_files } = out
    return { folder: name, rows, ...report.lost, files, missing_files }
  } catch (error) {
    target.discard()
    throw explained(error, WHAT)
  } finally {
    report.close()
  }
}
