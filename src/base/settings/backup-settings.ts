/** Settings of the continuous backup. */
import path from 'node:path'
import {
  anyText,
  bucket,
  oneWordOf,
  type Setting,
  textLike,
  textOfLength,
  url,
  type Values,
  wholeNumber,
} from './setting'

/** A bucket of the backup needs its keys. */
const missingForBackup = ({ BACKUP_TO }: Values) =>
  String(BACKUP_TO ?? '').startsWith('s3://') ? 'is required when BACKUP_TO is a bucket' : undefined

/** A folder that is the same one from wherever the service starts. */
const absolute = textLike(/^\//, 'must be a folder with its whole path, such as /srv/backup, or s3://bucket/prefix')

/** Read after those of the service: the bucket of the backup has by default the keys of the other one. */
export const BACKUP_SETTINGS = {
  BACKUP_TO: {
    meaning:
      'Where the continuous backup goes: a folder on another disk, or `s3://bucket/prefix`. With `DATABASE_URL` only files are copied there.',
    read: (text) => (text.startsWith('s3://') ? bucket(text) : path.resolve(absolute(text))),
    is_basic: true,
  },
  BACKUP_PASSPHRASE: {
    meaning:
      'Encrypts all that goes to `BACKUP_TO`: 16 characters or more. Keep a copy elsewhere: without it nothing can be restored.',
    read: textOfLength(16, 1000),
    is_secret: true,
  },
  BACKUP_LAG_SECONDS: {
    meaning: 'Seconds after which a change is in the backup at the latest.',
    read: wholeNumber(5, 86_400),
    default: '60',
  },
  BACKUP_BASE_HOURS: {
    meaning: 'Hours between two full copies of the database in the backup. A restore begins at one of them.',
    read: wholeNumber(1, 8760),
    default: '24',
  },
  BACKUP_KEEP_DAYS: {
    meaning: 'Days for which every moment can be restored. What no such moment needs is removed.',
    read: wholeNumber(1, 3650),
    default: '14',
  },
  BACKUP_SPOOL_BYTES: {
    meaning:
      'Bytes of the log of the database that may wait under `DATA_DIR` while `BACKUP_TO` is away. Beyond them the log is given up, and a new full copy is made when it is back.',
    read: wholeNumber(67_108_864, 1e15),
    default: '2000000000',
  },
  BACKUP_VERIFY: {
    meaning: 'Restores the backup beside the service every 6 days and reads all of it: `on` or `off`.',
    read: oneWordOf(['on', 'off']),
    default: 'on',
  },
  BACKUP_S3_ENDPOINT: {
    meaning: 'As `S3_ENDPOINT`, for the bucket of `BACKUP_TO`.',
    read: url('http:', 'https:'),
    default: ({ S3_ENDPOINT }) => S3_ENDPOINT as string | undefined,
    default_words: '`S3_ENDPOINT`',
  },
  BACKUP_S3_REGION: {
    meaning: 'As `S3_REGION`, for the bucket of `BACKUP_TO`.',
    read: anyText,
    default: ({ S3_REGION }) => S3_REGION as string | undefined,
    default_words: '`S3_REGION`',
  },
  BACKUP_S3_ACCESS_KEY_ID: {
    meaning: 'As `S3_ACCESS_KEY_ID`, for the bucket of `BACKUP_TO`.',
    read: anyText,
    default: ({ S3_ACCESS_KEY_ID }) => S3_ACCESS_KEY_ID as string | undefined,
    default_words: '`S3_ACCESS_KEY_ID`',
    missing: missingForBackup,
  },
  BACKUP_S3_SECRET_ACCESS_KEY: {
    meaning: 'As `S3_SECRET_ACCESS_KEY`, for the bucket of `BACKUP_TO`.',
    read: anyText,
    default: ({ S3_SECRET_ACCESS_KEY }) => S3_SECRET_ACCESS_KEY as string | undefined,
    default_words: '`S3_SECRET_ACCESS_KEY`',
    missing: missingForBackup,
    is_secret: true,
  },
} satisfies Record<string, Setting>
