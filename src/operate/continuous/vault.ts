/**
 * Writes and reads sealed objects of a target, encrypted when there is a passphrase. The format is that of age
 * (age-encryption.org), by its author's package: each piece of 64 KiB is authenticated, and the end. The passphrase
 * opens `key.age`, which holds the identity that all else is encrypted for, as age's own program keeps identities. Who
 * does not know that identity can neither read an object nor make one.
 */
import { createHash } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from '../backup/backup-error'
import { type Accepted, type Content, DamagedBackupError, seal, unseal } from './sealed'
import { isThere, type Target } from './target'

/** Holds the key of the other objects. */
export const KEY = 'key.age'
/** Holds what is where, and whose the target is. */
export const MANIFEST = 'manifest'
/** Names what was written last. */
export const HEAD = 'head'

/** 2^16 rounds of scrypt take 64 MiB; age's own default takes 256 MiB, half of a small machine. */
const SCRYPT_WORK = 16

/** Bytes of a key at most: its form has some 300. */
const KEY_MOST = 4096

/** Bytes of an object that is read whole, at most: a manifest has some hundred for each base copy. */
const WHOLE_MOST = 64 * 1024 * 1024

/** Bytes that are encrypted at once: about 2 ms. */
const STEP_BYTES = 256 * 1024

/** The passphrase does not fit the target, or one of them has none. */
export class PassphraseError extends BackupError {}

/** The target's key is not the one that it was opened by before: somebody else can write there. */
export class ExchangedKeyError extends BackupError {}

export type Vault = {
  target: Target
  /** Tells the key of the target from others. Null: it has none, and nothing is encrypted. */
  key_digest: string | null
  /** Writes an object: it is durable when this resolves. */
  put(name: string, content: Content): Promise<void>
  /** Writes a small object in the place of one that may be there, which stays when this rejects. */
  replace(name: string, content: Content): Promise<void>
  /**
   * Reads an object block by block.
   * @param accepted `any` also takes one without a MAC; by default that is for the place as a whole
   * @throws as `openTarget` for a missing one, DamagedBackupError
   */
  read(name: string, accepted?: Accepted): AsyncGenerator<Uint8Array>
}

/**
 * Opens the target for reading and writing.
 * @param if_empty `begin` makes the key of an empty target
 * @param accepted which objects are read. Nobody but who has the passphrase made an encrypted one: it needs no MAC
 * @param known_digest the `key_digest` of before
 * @throws PassphraseError; ExchangedKeyError, before the passphrase is tried
 */
export async function openVault(
  target: Target,
  passphrase: string | undefined,
  if_empty: 'begin' | 'leave',
  { accepted = 'proven', known_digest }: { accepted?: Accepted; known_digest?: string | null } = {},
): Promise<Vault> {
  const key = await readKey(target)
  await requireSameKey(target, key, known_digest)
  if (key) {
    if (!passphrase) throw new PassphraseError(`the backup in ${target.place} is encrypted: set BACKUP_PASSPHRASE`)
    return encrypted(target, await openKey(key, passphrase, target.place), digestOf(key))
  }
  if (!passphrase) return plain(target, accepted)
  if (await isThere(target, MANIFEST)) {
    throw new PassphraseError(
      `the backup in ${target.place} is not encrypted, and BACKUP_PASSPHRASE is set: name another place, or set none`,
    )
  }
  // The place is empty and stays so: the caller only reads.
  if (if_empty === 'leave') return plain(target, accepted)
  const identity = await generateX25519Identity()
  const encrypter = new Encrypter()
  encrypter.setScryptWorkFactor(SCRYPT_WORK)
  encrypter.setPassphrase(passphrase)
  await target.putNew(KEY, await encrypter.encrypt(`${identity}\n`))
  // When two services begin at once the key of one stands, and both use it.
  const stands = (await readKey(target))!
  return encrypted(target, await openKey(stands, passphrase, target.place), digestOf(stands))
}

/** Looks if the target still has the key that a vault was opened by. @throws ExchangedKeyError */
export async function checkKey({ target, key_digest }: Vault): Promise<void> {
  await requireSameKey(target, await readKey(target), key_digest)
}

/** @throws ExchangedKeyError saying what to do */
async function requireSameKey(
  target: Target,
  key: Uint8Array | undefined,
  known_digest: string | null | undefined,
): Promise<void> {
  if (known_digest === undefined || known_digest === digestOf(key)) return
  const backup = `the backup in ${target.place}`
  if (known_digest === null) {
    throw new ExchangedKeyError(`${backup} has a ${KEY} that this service did not write: remove it`)
  }
  const action = `put back the one that was there, which every restore needs, or name another place`
  if (key) throw new ExchangedKeyError(`${backup} has another ${KEY} than it was written with: ${action}`)
  if (await isThere(target, MANIFEST)) throw new ExchangedKeyError(`${backup} has lost its ${KEY}: ${action}`)
  throw new ExchangedKeyError(
    `${backup} has lost its manifest and its ${KEY}: is the right disk mounted? To begin anew, run cli backup adopt`,
  )
}

function digestOf(key: Uint8Array | undefined): string | null {
  return key ? createHash('sha256').update(key).digest('hex') : null
}

/** @returns undefined when there is none @throws DamagedBackupError when it is larger than any of ours */
async function readKey(target: Target): Promise<Uint8Array | undefined> {
  try {
    return await wholeOf(KEY, await target.open(KEY), KEY_MOST)
  } catch (error) {
    if (isNothingThere(error)) return undefined
    throw error
  }
}

/** Reads an object that the manifest names. @throws DamagedBackupError also when it is missing */
export async function* readNamed(vault: Vault, name: string, accepted?: Accepted): AsyncGenerator<Uint8Array> {
  try {
    yield* vault.read(name, accepted)
  } catch (error) {
    throw isNothingThere(error) ? new DamagedBackupError(`the backup is damaged: ${name} is missing`) : error
  }
}

/** Reads a whole object. @throws as `read` does, DamagedBackupError also when it is larger than any that is whole */
export async function contentOf(vault: Vault, name: string, accepted?: Accepted): Promise<Buffer> {
  return wholeOf(name, vault.read(name, accepted), WHOLE_MOST)
}

async function bytesOf(blocks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(blocks))
}

/** Reads no more than an object may have: who can write to the target may have made one without end. */
async function wholeOf(name: string, blocks: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const read: Uint8Array[] = []
  let size = 0
  for await (const block of blocks) {
    size += block.length
    if (size > most) throw new DamagedBackupError(`the backup is damaged: ${name} has more than ${most} bytes`)
    read.push(block)
  }
  return Buffer.concat(read, size)
}

async function openKey(key: Uint8Array, passphrase: string, place: string): Promise<string> {
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  try {
    return (await decrypter.decrypt(key, 'text')).trim()
  } catch {
    throw new PassphraseError(`BACKUP_PASSPHRASE does not open the backup in ${place}`)
  }
}

/** @param usual which objects are read unless a call says more */
function plain(target: Target, usual: Accepted): Vault {
  return {
    target,
    key_digest: null,
    async put(name, content) {
      await target.put(name, seal(name, content))
    },
    async replace(name, content) {
      await target.replace(name, await bytesOf(seal(name, content)))
    },
    async *read(name, accepted = usual) {
      yield* unseal(name, await target.open(name), accepted)
    },
  }
}

async function encrypted(target: Target, identity: string, key_digest: string | null): Promise<Vault> {
  const encrypter = new Encrypter()
  encrypter.addRecipient(await identityToRecipient(identity))
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  return {
    target,
    key_digest,
    async put(name, content) {
      await target.put(name, await encrypter.encrypt(streamOf(inSteps(seal(name, content)))))
    },
    async replace(name, content) {
      await target.replace(name, await encrypter.encrypt(await bytesOf(seal(name, content))))
    },
    async *read(name) {
      const stored = await target.open(name)
      yield* unseal(name, decrypted(name, decrypter, stored), 'any')
    },
  }
}

/** @throws DamagedBackupError in the place of what age says of a changed or cut object */
async function* decrypted(name: string, decrypter: Decrypter, stored: ReadableStream<Uint8Array>) {
  let is_ours = false
  // A failure of the target is no damage.
  async function* noting() {
    try {
      yield* stored
    } catch (error) {
      is_ours = true
      throw error
    }
  }
  try {
    yield* await decrypter.decrypt(streamOf(noting()))
  } catch (error) {
    if (is_ours) throw error
    throw new DamagedBackupError(`the backup is damaged: ${name} was changed, or cut, or is not of this backup`)
  }
}

/** Cuts pieces and lets others run between them: age's package encrypts without a pause what it is given. */
async function* inSteps(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP_BYTES) {
      yield piece.subarray(at, at + STEP_BYTES)
      await giveWay()
    }
  }
}

function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })
}
