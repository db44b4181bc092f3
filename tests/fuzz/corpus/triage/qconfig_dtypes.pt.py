# generated
from torch import float16
{
    'conv': {'input': qint8, 'weight': qint8, 'output': 'qint16'},
    'head.norm': {'input': [qint8], 'output': qint16},
    'head.mul': {'output': qint16},
    'head.add': {'output': torch.float16},
    'neck.norm': {'output': qint16},
}
