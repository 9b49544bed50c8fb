/** Files of what is written: chosen, dropped or pasted, and uploaded at once. */
import { Paperclip, X } from 'lucide'
import { useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { Api } from '../api'
import { useCell } from '../cell'
import { Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { bytes } from '../ui/measures'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Writing } from './writing'

type Upload = ReturnType<typeof useUpload>

/** Uploads files and adds them to what is written. */
export function useUpload(api: Api, writing: Writing, messages: Message[]) {
  const [is_busy, setBusy] = useState(false)
  const one = async (file: File): Promise<Attachment> => {
    const content = new FormData()
    content.append('file', file)
    const { data } = await api.post<Attachment>('/attachments', undefined, { raw: { content } })
    writing.write({ files: [...writing.cell.value.files, data] }, messages)
    return data
  }
  const busy = async <T,>(work: () => Promise<T>) => {
    setBusy(true)
    const done = await attempt(work)
    setBusy(false)
    return done
  }
  return {
    is_busy,
    files: (list: Iterable<File>) =>
      busy(async () => {
        for (const file of list) await one(file)
      }),
    /** @returns the address of the image, undefined when it could not be uploaded */
    image: async (file: File) => (await busy(() => one(file)))?.url,
  }
}

type FilesProps = { writing: Writing; messages: Message[]; upload: Upload; is_off: boolean }

export function Files({ writing, messages, upload, is_off }: FilesProps) {
  const { files, text } = useCell(writing.cell)
  const remove = (id: string) => writing.write({ files: files.filter((file) => file.id !== id) }, messages)
  return (
    <div class="files">
      <label class="attach">
        <Icon of={Paperclip} />
        <span>{t(upload.is_busy ? 'composer.uploading' : 'composer.attach')}</span>
        <input
          type="file"
          multiple
          disabled={upload.is_busy || is_off}
          onChange={async (event) => {
            const input = event.target as HTMLInputElement
            await upload.files(input.files ?? [])
            input.value = ''
          }}
        />
      </label>
      {files
        // Images in the text are shown there.
        .filter(({ id }) => !text.includes(id))
        .map(({ id, filename, size }) => (
          <span key={id} class="removable file" dir="auto">
            {filename} <small>{bytes(size)}</small>
            <Button
              kind="bare"
              icon={X}
              label={t('composer.remove_file', { file: filename })}
              onClick={() => remove(id)}
            />
          </span>
        ))}
    </div>
  )
}
