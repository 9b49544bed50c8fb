/** The operator's commands for backups. */
import { type Command, requiredOption } from '../start/command-line'
import { backUp } from './back-up'
import { exportOrganization } from './export-organization'

export const BACKUP_COMMANDS: Command[] = [
  {
    name: 'backup',
    options: 'FOLDER',
    meaning:
      'Writes database, files and secret key to a new folder, while the service runs; on a cluster, while it is stopped.',
    needs: 'nothing',
    run: ({ folder }) => backUp(String(folder)),
  },
  {
    name: 'export',
    options: 'FOLDER --organization ID',
    meaning:
      'Writes all of one organization to a new folder: JSON lines in the shapes of the API, and files. No secrets.',
    needs: 'nothing',
    run: (options) => exportOrganization(requiredOption(options, 'organization'), String(options.folder)),
  },
]
