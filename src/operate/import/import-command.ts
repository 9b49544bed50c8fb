/** The operator's command to move an organization in. */
import path from 'node:path'
import { type Command, requiredOption } from '../start/command-line'
import { importOrganization } from './import-organization'

/** Lines were wrong, and all others are imported. */
const SOME_FAILED = 3

export const IMPORT_COMMANDS: Command[] = [
  {
    name: 'import',
    options: 'FOLDER --organization ID [--dry-run] [--report FILE]',
    meaning:
      'Brings an export, or what convert made of another desk, into an organization, while the service runs. Again: only what is new or changed. --dry-run changes nothing. Ends with 3 when lines were wrong; FILE gets them.',
    needs: 'nothing',
    run: async (options) => {
      const { report } = options
      const { numbers, has_failed } = await importOrganization(
        requiredOption(options, 'organization'),
        String(options.folder),
        { dry_run: options['dry-run'] === true, report: typeof report === 'string' ? path.resolve(report) : undefined },
      )
      if (has_failed) process.exitCode = SOME_FAILED
      return numbers
    },
  },
]
