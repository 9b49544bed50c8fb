declare module 's3rver' {
  /** An S3-compatible server over a folder; its only credentials are S3RVER and S3RVER. */
  export default class S3rver {
    constructor(options: {
      port: number
      address: string
      silent: boolean
      directory: string
      configureBuckets: { name: string; configs: string[] }[]
    })
    run(): Promise<{ port: number }>
    close(): Promise<void>
  }
}
