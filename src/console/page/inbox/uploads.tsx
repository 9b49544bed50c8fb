/** Files of what is written: chosen, dropped or pasted, and uploaded at once. */
import { LoaderCircle, Paperclip } from 'lucide'
import { useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { Api } from '../api'
import { useCell } from '../cell'
import { FileChip } from '../forms/file-field'
import { Icon } from '../ui/icons'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import type { Writing } from './writing'

type Uploading = ReturnType<typeof useUpload>

export async function upload(api: Api, file: File): Promise<Attachment> {
  const content = new FormData()
  content.append('file', file)
  return (await api.post<Attachment>('/attachments', undefined, { raw: { content } })).data
}

/** Uploads files and adds them to what is written. */
export function useUpload(api: Api, writing: Writing, messages: Message[]) {
  const [is_busy, setBusy] = useState(false)
  const one = async (file: File): Promise<Attachment> => {
    const data = await upload(api, file)
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

/** The button that chooses files. */
export function AttachButton({ upload, is_off }: { upload: Uploading; is_off: boolean }) {
  const label = t(upload.is_busy ? 'composer.uploading' : 'composer.attach')
  return (
    <label class="attach" title={label}>
      <Icon of={upload.is_busy ? LoaderCircle : Paperclip} />
      <span class="unseen">{label}</span>
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
  )
}

type FilesProps = { writing: Writing; messages: Message[]; is_off: boolean }

/** The files of what is written. Images in the text are shown there. */
export function Files({ writing, messages, is_off }: FilesProps) {
  const { files, text } = useCell(writing.cell)
  const shown = files.filter(({ id }) => !text.includes(id))
  if (shown.length === 0) return null
  const remove = (id: string) => writing.write({ files: files.filter((file) => file.id !== id) }, messages)
  return (
    <div class="files">
      {shown.map((file) => (
        <FileChip key={file.id} {...file} is_off={is_off} remove={() => remove(file.id)} />
      ))}
    </div>
  )
}
