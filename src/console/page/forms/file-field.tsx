/** A field for files. Each is uploaded when it is chosen, and the form sends its id. */
import { X } from 'lucide'
import { useState } from 'preact/hooks'
import { Button } from '../ui/buttons'
import { bytes } from '../ui/measures'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Upload, Uploaded } from './spec'

type Props = { id: string; name: string; upload: Upload }

export function Files({ name, upload, ...given }: Props) {
  const [files, setFiles] = useState<Uploaded[]>([])
  const take = async (field: HTMLInputElement) => {
    // The form waits.
    field.setCustomValidity(t('composer.uploading'))
    for (const file of field.files ?? []) {
      const done = await attempt(() => upload(file))
      if (done) setFiles((before) => [...before, done])
    }
    field.value = ''
    field.setCustomValidity('')
  }
  return (
    <>
      <input {...given} type="file" multiple onChange={(event) => void take(event.currentTarget)} />
      <div class="files">
        {files.map((file) => (
          <FileChip
            key={file.id}
            {...file}
            remove={() => setFiles((before) => before.filter(({ id }) => id !== file.id))}
          />
        ))}
      </div>
      {files.map(({ id }) => (
        <input key={id} type="hidden" name={name} value={id} />
      ))}
    </>
  )
}

/** A file that goes with what is written. */
export function FileChip({ filename, size, is_off, remove }: Uploaded & { is_off?: boolean; remove: () => void }) {
  return (
    <span class="removable file">
      <bdi>{filename}</bdi> <small>{bytes(size)}</small>
      <Button
        kind="bare"
        icon={X}
        label={t('composer.remove_file', { file: filename })}
        disabled={is_off}
        onClick={remove}
      />
    </span>
  )
}
