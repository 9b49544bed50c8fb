/** The operator's commands for backups. */
import { type Command, type Options, requiredOption, UsageError } from '../start/command-line'
import { backUp } from './back-up'
import { exportOrganization } from './export-organization'
import { checkBackup, restore } from './restore'

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
    name: 'restore',
    options: 'FOLDER [--check] [--numbers-from N]',
    meaning:
      'Restores a backup into an empty database and DATA_DIR. --check only reads the backup. New tickets get numbers behind N, else a gap of 1,000 is left.',
    needs: 'nothing',
    run: (options) =>
      options.check ? checkBackup(String(options.folder)) : restore(String(options.folder), lastNumber(options)),
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

/** @throws UsageError when --numbers-from is no ticket number */
function lastNumber({ 'numbers-from': text }: Options): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,7}$/.test(String(text))) throw new UsageError('--numbers-from must be a number from 0 to 9999999')
  return Number(text)
}
