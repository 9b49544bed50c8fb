/** Puts what the API answered into a file of the person's computer. */
import type { Api } from './api'

/** Downloads a path that needs the token. @param name of the file */
export async function download(api: Api, path: string, name: string): Promise<void> {
  save(await api.download(path), name)
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
